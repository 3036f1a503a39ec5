"""What a part is: Protocols and frozen values, no behaviour."""
