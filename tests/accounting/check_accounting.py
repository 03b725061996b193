"""nvdp account beside dp-accounting's privacy loss distributions, on random settings.

    check_accounting.py NVDP [SETTINGS] [SEED]

Epsilon must be at most 1 % above its pessimistic estimate (connecting the dots, steps of 1e-4 and less) and never
below its optimistic one; by Renyi divergences at most 1e-4 above what its accountant tells of whole orders alone.
Exit status 77: dp-accounting is not there."""
import json, math, random, subprocess, sys

try:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.rdp import RdpAccountant
    import dp_accounting
except ImportError:
    sys.exit(77)


def ours(noise, rate, steps, delta):
    out = subprocess.run([sys.argv[1], "account", f"--noise={noise}", f"--sample-rate={rate}", f"--steps={steps}",
                          f"--delta={delta}", "--json"], check=True, capture_output=True).stdout
    made = json.loads(out)
    return made["pld"]["epsilon"], made["rdp"]["epsilon"], made["rdp"]["order"]


def theirs(noise, rate, steps, delta, size):
    def epsilon(**how):
        one = pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=size, **how)
        return one.self_compose(steps).get_epsilon_for_delta(delta)
    return epsilon(), epsilon(pessimistic_estimate=False, use_connect_dots=False)


def renyi(noise, rate, steps, delta, order):
    accountant = RdpAccountant([order])
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(event, steps))
    return accountant.get_epsilon(delta)


def draw(rng):
    """Settings in use; those whose epsilon is outside of .01 to 30 are drawn again."""
    while True:
        rate = 1.0 if rng.random() < 0.05 else 10 ** rng.uniform(-4.3, -0.3)
        setting = (round(10 ** rng.uniform(-0.3, 0.9), 3), rate, int(10 ** rng.uniform(0, 4.3)),
                   10 ** rng.uniform(-9, -4))
        found = ours(*setting)
        if 0.01 < found[0] and found[1] < 30:
            return setting, found


def main():
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    bad, most, least = 0, -math.inf, math.inf
    for _ in range(wanted):
        setting, (epsilon, by_renyi, order) = draw(rng)
        high, low = theirs(*setting, max(min(1e-4, epsilon / (50 * math.sqrt(setting[2]) + 100)), 1e-5))
        wrong = not low <= epsilon <= 1.01 * high
        if order == round(order):
            wrong |= abs(by_renyi - renyi(*setting, order)) > 1e-4 * by_renyi
        most, least, bad = max(most, epsilon / high - 1), min(least, epsilon / high - 1), bad + wrong
        print("noise %g rate %.4g steps %d delta %.2g: %.6g, theirs %.6g to %.6g, RDP %.6g at %g%s" %
              (*setting, epsilon, low, high, by_renyi, order, "  WRONG" if wrong else ""), flush=True)
    print("%d settings: %+.2e to %+.2e of their pessimistic epsilon; %d wrong" % (wanted, least, most, bad))
    sys.exit(1 if bad else 0)


main()
