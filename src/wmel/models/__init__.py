"""World models, and how they imagine the costs of action sequences."""
