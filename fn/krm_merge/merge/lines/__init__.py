"""Three-way merges of lines and of lists without keys, and the comments between them. Knows no Kubernetes."""
