"""From a config to a bitstream with open tools: a folder with everything, the stages that build it, and what came out."""
