"""What is filled in where the user left it out: API defaults, for each kind."""
