"""From files to documents: what a custodian has, read without loss."""
