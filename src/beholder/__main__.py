"""`python -m beholder`."""

from beholder.cli import main

if __name__ == "__main__":
    main()
