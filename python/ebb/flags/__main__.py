# python/ebb/flags/__main__.py -- prints all settings: `python -m ebb.flags`.
"""A module of its own, as `import ebb` imports ``ebb.flags``: Python would warn of running that."""

from ebb.flags import table


def main() -> None:
    """Print each setting, where its value comes from, and what it does."""
    for flag in table():
        print(f"{flag.name} = {flag.value!r}  ({flag.source}; {flag.variable})\n    {flag.doc}")


if __name__ == "__main__":
    main()
