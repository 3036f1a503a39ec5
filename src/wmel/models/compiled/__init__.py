"""Small networks in one compiled pass on a CPU, for few rows at a time, where only values are wanted."""
