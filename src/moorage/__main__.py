"""`python -m moorage` is the moorage command."""

from moorage.cli.main import main

if __name__ == "__main__":
    main()
