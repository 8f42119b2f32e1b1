"""What is made of whole graphs: another batch size, inner graphs inlined, wider types, patterns found and replaced."""
