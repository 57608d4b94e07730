"""The front: HTTP for analysts. It holds no document, and opens no vault."""
