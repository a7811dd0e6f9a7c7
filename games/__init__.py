"""The games that come with mdpdice, imported as `mdpdice.games`."""
