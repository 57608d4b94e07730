"""A server between analysts and documents: a front that holds no document, and a keeper that answers no stranger."""
