"""Every word that outputs print, defined once: in the TOML files here, or where a part or a column is declared."""
