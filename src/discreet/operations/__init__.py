"""Operations on a whole vault, for its custodian: checks, copies and reports."""
