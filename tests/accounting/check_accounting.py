"""nvdp account beside dp-accounting's privacy loss distributions, on random settings: noise .03 to 1000, rates 1e-6 to 1,
1 to 10^5 steps, delta 1e-10 to 1e-2, epsilon 1e-3 to 10^6.

    check_accounting.py NVDP [SETTINGS] [SEED]

Epsilon must be at most .1 % above dp-accounting's pessimistic estimate (connecting the dots), and not more than 1 % below:
that estimate is too large by what its grid adds.  It must not be below the optimistic estimate, where there is one.
Epsilon by Renyi divergences must be within 1e-4 of its accountant's at whole orders.
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
    """Pessimistic and optimistic epsilon on a grid of losses `size` apart; NaN where it fails."""
    def epsilon(**how):
        one = pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=size, **how)
        return one.self_compose(steps).get_epsilon_for_delta(delta)
    try:
        low = epsilon(pessimistic_estimate=False, use_connect_dots=False)
    except OverflowError:  # its losses are below -700
        low = math.nan
    return epsilon(), low


def renyi(noise, rate, steps, delta, order):
    accountant = RdpAccountant([order])
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(event, steps))
    return accountant.get_epsilon(delta)


def draw(rng):
    """A setting with an epsilon between 1e-3 and 10^6 whose grid fits in memory."""
    while True:
        rate = 1.0 if rng.random() < 0.05 else 10 ** rng.uniform(-6, 0)
        setting = (10 ** rng.uniform(-1.5, 3), rate, int(10 ** rng.uniform(0, 5)), 10 ** rng.uniform(-10, -2))
        found = ours(*setting)
        size = max(found[0] * 1e-3 / math.sqrt(setting[2]), found[0] / 1e6, 1e-7)
        if 1e-3 < found[0] < 1e6 and (found[0] + 1 / setting[0] ** 2) / size < 2e6:
            return setting, found, size


def main():
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    bad, most, least = 0, -math.inf, math.inf
    for _ in range(wanted):
        setting, (epsilon, by_renyi, order), size = draw(rng)
        high, low = theirs(*setting, size)
        wrong = epsilon < low or not 0.99 * high <= epsilon <= 1.001 * high
        if order == round(order) and order < 1024:
            wrong |= abs(by_renyi - renyi(*setting, order)) > 1e-4 * by_renyi
        most, least, bad = max(most, epsilon / high - 1), min(least, epsilon / high - 1), bad + wrong
        print("noise %g rate %.4g steps %d delta %.2g: %.6g, theirs %.6g to %.6g, RDP %.6g at %g%s" %
              (*setting, epsilon, low, high, by_renyi, order, "  WRONG" if wrong else ""), flush=True)
    print("%d settings: %+.2e to %+.2e of their pessimistic epsilon; %d wrong" % (wanted, least, most, bad))
    sys.exit(1 if bad else 0)


main()
