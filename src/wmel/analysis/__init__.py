"""Pure functions of episode tables; nothing here runs anything."""
