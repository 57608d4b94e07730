"""Language models in other processes: servers that speak the protocol of OpenAI, and model workers on a socket."""
