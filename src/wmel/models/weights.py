"""What identifies a network: the numbers it learned."""

from hashlib import sha256

from torch import nn


def weights_hash(network: nn.Module) -> str:
    """Of names, shapes and values, wherever the network is."""
    digest = sha256()
    for name, values in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(values.shape)} {values.dtype}".encode())
        digest.update(values.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
