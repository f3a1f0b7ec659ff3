"""The table and the picture."""

import html
import math

COLUMNS = ("workload", "server", "requests/s", "of nginx", "p50 ms", "p99 ms", "CPU s/million", "MB", "against peers")
WIDTHS = (28, 15, 11, 9, 8, 8, 14, 8, 0)


def heading():
    return row(COLUMNS) + "\n" + "-" * 120


def row(cells):
    return "".join(str(cell).ljust(width) if i < 2 else str(cell).rjust(width) + " "
                   for i, (cell, width) in enumerate(zip(cells, WIDTHS))).rstrip()


def ratio_to(servers, name, to):
    return servers[name]["per_s"] / servers[to]["per_s"] if to in servers and servers[to]["per_s"] else None


def lines(workload, so_far):
    servers = workload["servers"]
    out = []
    for name, result in servers.items():
        limit = ratio_to(servers, name, "nginx")
        ours = name.startswith("stator")
        against = [f"{ratio_to(servers, name, peer):.1f}x {peer}" for peer in servers
                   if ours and not peer.startswith("stator") and peer != "nginx"]
        versus = next((other for other in so_far if other["name"] == workload["versus"]), None)
        if versus and name in versus["servers"]:
            cost = result["cpu_s_per_million"] / max(1e-9, versus["servers"][name]["cpu_s_per_million"])
            time = versus["servers"][name]["per_s"] / result["per_s"]
            against.append(f"costs {time:.2f}x of {workload['versus']} ({cost:.2f}x the CPU)")
        out.append(row((
            workload["name"] if not out else "", name, f"{result['per_s']:,.0f}",
            f"{limit:.2f}" if limit is not None and name != "nginx" else "", f"{result['p50_ms']:.2f}",
            f"{result['p99_ms']:.2f}", f"{result['cpu_s_per_million']:.1f}", f"{result['resident_mb']:.0f}",
            ", ".join(against) + (f"  {result['failed']:.0f} FAILED" if result["failed"] else ""))))
        if ours and workload["items_each"] > 1:
            out.append(row(("", "", f"{result['per_s'] * workload['items_each']:,.0f}", "items/s")))
    return "\n".join(out)


def fact_lines(facts):
    return "\n".join(f"{name}: {value:.1f}" for name, value in facts.items())


COLORS = {"nginx": "#9aa5b1", "stator memory": "#1f6feb", "stator durable": "#0b3d91", "dynoxide": "#e07b39", "dynoxide on disk": "#a0522d",
          "dynalite": "#c0a000", "dynamodb local": "#8b5cf6"}


def picture(results):
    """Bars of throughput as a share of nginx, or of the fastest where nginx was not asked."""
    bar, gap, left, width = 14, 10, 230, 520
    parts, y = [], 40
    for workload in results["workloads"]:
        servers = workload["servers"]
        top = servers["nginx"]["per_s"] if "nginx" in servers else max(r["per_s"] for r in servers.values())
        parts.append(f'<text x="{left - 10}" y="{y + bar - 3}" text-anchor="end">{html.escape(workload["name"])}</text>')
        for name, result in servers.items():
            share = min(1.0, result["per_s"] / top)
            parts.append(f'<rect x="{left}" y="{y}" width="{max(1, share * width):.1f}" height="{bar - 3}" '
                         f'fill="{COLORS.get(name, "#555")}"><title>{html.escape(name)}</title></rect>'
                         f'<text x="{left + share * width + 6:.1f}" y="{y + bar - 4}" class="n">'
                         f'{result["per_s"]:,.0f}/s</text>')
            y += bar
        y += gap
    legend, x = [], left
    for name, color in COLORS.items():
        if any(name in workload["servers"] for workload in results["workloads"]):
            legend.append(f'<rect x="{x}" y="12" width="10" height="10" fill="{color}"/>'
                          f'<text x="{x + 14}" y="21">{html.escape(name)}</text>')
            x += 14 + 8 * len(name) + 16
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 110}" height="{y + 10}" '
            f'font-family="sans-serif" font-size="12"><style>.n{{font-size:10px;fill:#555}}</style>'
            f'<rect width="100%" height="100%" fill="#fff"/>{"".join(legend)}{"".join(parts)}</svg>\n')


def curve(sizes, names):
    """Throughput over the number of items, both on logarithmic axes."""
    left, top, width, height = 70, 40, 480, 260
    items = sorted(sizes)
    rates = [sizes[n][name]["per_s"] for n in items for name in names]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))

    def x(n):
        return left + width * (math.log10(n) - math.log10(items[0])) / max(1e-9, math.log10(items[-1] / items[0]))

    def y(rate):
        return top + height * (high - math.log10(rate)) / max(1, high - low)

    parts = []
    for power in range(low, high + 1):
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y(10 ** power):.1f}" y2="{y(10 ** power):.1f}" '
                     f'stroke="#ddd"/><text x="{left - 8}" y="{y(10 ** power) + 4:.1f}" text-anchor="end">'
                     f'{10 ** power:,}/s</text>')
    for n in items:
        parts.append(f'<text x="{x(n):.1f}" y="{top + height + 20}" text-anchor="middle">{n:,}</text>')
        parts.append(f'<text x="{x(n):.1f}" y="{top + height + 36}" text-anchor="middle" class="n">'
                     f'{sizes[n]["resident_mb"]:,.0f} MB</text>')
    for i, name in enumerate(names):
        color = ("#1f6feb", "#e07b39", "#2f9e44")[i % 3]
        points = " ".join(f"{x(n):.1f},{y(sizes[n][name]['per_s']):.1f}" for n in items)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        for n in items:
            parts.append(f'<circle cx="{x(n):.1f}" cy="{y(sizes[n][name]["per_s"]):.1f}" r="3" fill="{color}"/>'
                         f'<text x="{x(n) + 6:.1f}" y="{y(sizes[n][name]["per_s"]) - 6:.1f}" class="n">'
                         f'{sizes[n][name]["per_s"]:,.0f}</text>')
        parts.append(f'<rect x="{left + i * 130}" y="12" width="10" height="10" fill="{color}"/>'
                     f'<text x="{left + i * 130 + 14}" y="21">{html.escape(name)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{top + height + 50}" '
            f'font-family="sans-serif" font-size="12"><style>.n{{font-size:10px;fill:#555}}</style>'
            f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n')
