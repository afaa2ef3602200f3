"""As much of torch as torch_peer.py asks, where there is none."""
__version__ = "0"


class cuda:
    is_available = staticmethod(lambda: True)
    mem_get_info = staticmethod(lambda: (1 << 30, 3 << 30))
    max_memory_allocated = staticmethod(lambda: 1 << 30)
