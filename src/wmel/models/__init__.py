"""World models, and the two places where they meet actions: rollout and imagined_cost."""
