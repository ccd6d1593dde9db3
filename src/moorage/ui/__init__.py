"""What a person looks at in a browser."""
