#!/usr/bin/env python3
"""Draws what mesh_theory prints: spans that meshing gives back, beside what the theory promises, by occupancy.

    theory_plot.py [--binary FILE] [--output FILE] [--table]      default: docs/internals/meshing-theory.svg

Build it with 'make -C artifacts/native mesh_theory'. --table prints some of the points as rows of the docs' table instead. The program's seed is fixed, so the same code draws the same picture."""
import argparse, os, subprocess, sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
parser = argparse.ArgumentParser()
parser.add_argument("--binary", default=os.path.join(ROOT, "artifacts/native/bin/mesh_theory"))
parser.add_argument("--output", default=os.path.join(ROOT, "docs/internals/meshing-theory.svg"))
parser.add_argument("--table", action="store_true")
options = parser.parse_args()

rows = [line.split() for line in subprocess.check_output([options.binary], text=True).splitlines()[1:]]
points = {}
for slots, live, probability, bound, pairs, heap in rows:
    points.setdefault(int(slots), []).append((int(live) / int(slots), float(probability), float(bound), float(pairs), float(heap)))
for slots, line in points.items():
    for occupancy, _, bound, pairs, heap in line:
        # Where the theory promises less than a span, chance decides.
        if pairs < bound - 0.002 or heap < bound - 0.002:
            sys.exit(f"{slots} slots, occupancy {occupancy:.3f}: the theory promises {bound:.4f}, SplitMesher found {pairs:.4f}, the heap {heap:.4f}")
if options.table:
    for slots, line in points.items():
        for occupancy, probability, bound, pairs, heap in line[:: max(1, len(line) // 4)]:
            print(f"| {slots} | {100 * occupancy:.1f}% | {probability:.2g} | {100 * bound:.1f}% | {100 * pairs:.1f}% | {100 * heap:.1f}% |")
    sys.exit()

WIDTH, HEIGHT, LEFT, TOP, GAP, BOTTOM = 1000, 640, 50, 50, 60, 60
panel_width, panel_height = (WIDTH - LEFT - 20 - GAP) / 2, (HEIGHT - TOP - GAP - BOTTOM) / 2
svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
add = svg.append
for i, (slots, line) in enumerate(sorted(points.items())):
    left, top = LEFT + i % 2 * (panel_width + GAP), TOP + i // 2 * (panel_height + GAP)
    x = lambda occupancy: left + occupancy / 0.5 * panel_width
    y = lambda share: top + (1 - share) * panel_height
    for share in [0, 0.25, 0.5, 0.75, 1]:
        add(f'<line x1="{left}" x2="{left + panel_width:.1f}" y1="{y(share):.1f}" y2="{y(share):.1f}" stroke="#d8d8d8"/>')
        add(f'<text x="{left - 6}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for occupancy in [0, 0.1, 0.2, 0.3, 0.4, 0.5]:
        add(f'<text x="{x(occupancy):.1f}" y="{top + panel_height + 16:.1f}" text-anchor="middle">{occupancy:.0%}</text>')
    add(f'<text x="{left + panel_width / 2:.1f}" y="{top - 8:.1f}" text-anchor="middle" font-weight="bold">{slots} slots of {4096 // slots} bytes</text>')
    for column, colour, dashes in [(2, "#c03030", ' stroke-dasharray="6 4"'), (3, "#4878a8", ""), (4, "#70a860", "")]:
        places = [(x(point[0]), y(point[column])) for point in line]
        add(f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dashes} points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in places)}"/>')
        if not dashes:
            svg += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places]
for i, (text, colour, dashes) in enumerate([("promised: a quarter of (1 - e^(-2tp))", "#c03030", ' stroke-dasharray="6 4"'), ("SplitMesher, one pass", "#4878a8", ""), ("the heap, until a pass finds nothing", "#70a860", "")]):
    at = LEFT + 320 * i
    add(f'<line x1="{at}" x2="{at + 30}" y1="16" y2="16" stroke="{colour}" stroke-width="2"{dashes}/><text x="{at + 38}" y="20">{text}</text>')
add(f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">live slots; upwards: spans that are given back, of all spans</text>')
add("</svg>")
with open(options.output, "w") as file:
    file.write("\n".join(svg) + "\n")
