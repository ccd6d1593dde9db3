"""What is refused: rules for each kind, with the field paths and words of Kubernetes."""
