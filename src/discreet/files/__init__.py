"""Reading of a custodian's files as documents, without loss."""
