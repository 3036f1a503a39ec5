"""`python -m wmel` is the command line."""

from wmel.cli.main import main

if __name__ == "__main__":
    main()
