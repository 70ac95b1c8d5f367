"""The parts of the benchmark: what is sent, who answers, who asks, and what is measured."""
