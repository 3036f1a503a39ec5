"""Records and tables of finished runs; nothing here runs anything."""
