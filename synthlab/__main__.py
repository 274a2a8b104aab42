"""``synthlab``, also ``python -m synthlab``: the command with all its subcommands."""

from synthlab.cli.commands import main

if __name__ == "__main__":
    main()
