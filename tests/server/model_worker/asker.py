"""An asker as a process: python -m tests.server.model_worker.asker VAULT NUMBER QUESTIONS. Prints what it got."""

import json
import sys
from pathlib import Path

from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import Consensus
from discreet.vault import Vault

PAID = Consensus(voters=5, epsilon=0.01, choices=("red hand", "blue foot"), max_tokens=4)
SIMULATED = Consensus(voters=20, epsilon=8, delta=1e-6, max_tokens=4)


def ask(path: Path, number: int, questions: int, opened: Vault | None = None) -> dict[str, object]:
    """Ask, and simulate the same questions with seeded noise."""
    vault = opened or Vault.open(path)
    epsilon, answers = 0.0, []
    for turn in range(questions):
        receipt = vault.ask(f"fever {number} {turn}", PAID).receipt
        epsilon += sum(float(each.cost.curve[-1]) for each in receipt.charges) if receipt else 0.0
        noise = InsecureSeededNoise(turn)
        answers.append(vault.simulate(f"fever {turn}", SIMULATED, noise=noise).text)
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith(("VmHWM", "VmRSS")))
    torch = sorted({"torch", "transformers"} & set(sys.modules))
    return {"epsilon": epsilon, "answers": answers, "mebibytes": peak / 1024, "loaded": torch}


if __name__ == "__main__":
    print(json.dumps(ask(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
