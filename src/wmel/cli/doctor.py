"""`wmel doctor`: what is installed, what is missing, and how to get it."""

import json as json_format

from wmel.cli.list_parts import Json


def doctor(json: Json = False) -> None:
    """Print versions, and for every extra what is installed or how to install it."""
    from wmel.api.doctor import doctor as examine

    found = examine()
    print(json_format.dumps(found.entries, indent=1) if json else found)
