"""Parts of every kind, as a third party would ship them."""
