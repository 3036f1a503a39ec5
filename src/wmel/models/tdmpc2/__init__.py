"""tdmpc2: a latent world model with reward, value and policy heads (Hansen, Su and Wang 2024), written anew."""
