"""Commands for the machines around it: hosts, GPUs, servers, and what is installed here."""
