"""A chart of lines over a logarithmic axis, as SVG."""
import math

COLOURS = ["#777777", "#1f77b4", "#2ca02c", "#d62728", "#9467bd", "#8c564b"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 720, 420, 64, 48, 40, 150
STEPS = 5


def write_chart(path, title, below, lines):
    """`lines`: name -> points (x, y), x from 1 up. The upper edge is 1, or what is above it."""
    points = [point for line in lines.values() for point in line]
    most = max(x for x, _ in points)
    low = min(math.floor(20 * min(y for _, y in points)) / 20, 0.95)
    high = max(1, math.ceil(20 * max(y for _, y in points)) / 20)

    def at(x, y):
        across = LEFT + (WIDTH - LEFT - RIGHT) * math.log2(x) / max(1, math.log2(most))
        return f"{across:.1f},{TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low):.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             'font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<text x="{LEFT}" y="20" font-size="14">{title}</text>']
    for step in range(STEPS + 1):
        y = low + (high - low) * step / STEPS
        begin, end = at(1, y).split(","), at(most, y).split(",")
        parts.append(f'<line x1="{begin[0]}" y1="{begin[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{float(begin[1]) + 4:.1f}" text-anchor="end">{y:.2f}</text>')
    x = 1
    while x <= most:
        parts.append(f'<text x="{at(x, low).split(",")[0]}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x}</text>')
        x *= 2
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{below}</text>')
    for place, (name, line) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        parts.append(f'<polyline points="{" ".join(at(*point) for point in line)}" fill="none" stroke="{colour}" '
                     'stroke-width="2"/>')
        y = TOP + 16 + 20 * place
        parts.append(f'<line x1="{WIDTH - RIGHT + 14}" y1="{y - 4}" x2="{WIDTH - RIGHT + 34}" y2="{y - 4}" '
                     f'stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 40}" y="{y}">{name}</text>')
    parts.append("</svg>")
    path.write_text("\n".join(parts) + "\n")
