"""The desk: pages for the custodian, on a listener of their own."""
