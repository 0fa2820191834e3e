"""How good are the pictures, pages and documents that models make? Numbers that can be trusted."""

__version__ = "0.1.0"
