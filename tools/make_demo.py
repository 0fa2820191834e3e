"""Makes the sample submissions of `beholder demo` again, from public data that npm packages ship.

    python tools/make_demo.py [--out-dir examples/gis-bench/runs]

Needs node with npm, the network for `npm install`, and `pip install vl-convert-python matplotlib pillow`
(used here: 1.9.0.post1, 3.11, 13.0). Pages are built by `tools/make_demo/pages.mjs`, still pictures here:
Vega-Lite for three, matplotlib for the raster. The letters are Liberation Sans (fonts-liberation); with
another font the pictures differ a little, and the scripted replies still fit.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import vl_convert as vlc
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import PathPatch
from matplotlib.path import Path as MapPath
from PIL import Image

HERE = Path(__file__).resolve().parent
FONT = "Liberation Sans"
EARTH_RADIUS_KM = 6371.0088
BUFFER_KM = 150
SOUTH_AMERICA = {32, 68, 76, 152, 170, 218, 238, 328, 600, 604, 740, 858, 862}  # ISO 3166-1 numeric
FRANCE = 250

Spec = dict[str, Any]


def distance_km(lon: float, lat: float, to: tuple[float, float]) -> float:
    """Great-circle distance on a sphere (haversine), degrees in, kilometres out."""
    a, b = math.radians(lat), math.radians(to[1])
    h = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(math.radians(to[0] - lon) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(h))


def circle(center: tuple[float, float], radius_km: float, steps: int = 120) -> list[list[float]]:
    """Ring of points at `radius_km` from `center`, clockwise on the sphere as d3-geo wants it."""
    lon, lat, r = math.radians(center[0]), math.radians(center[1]), radius_km / EARTH_RADIUS_KM
    ring = []
    for i in range(steps + 1):
        bearing = 2 * math.pi * (i % steps) / steps
        y = math.asin(math.sin(lat) * math.cos(r) + math.cos(lat) * math.sin(r) * math.cos(bearing))
        x = lon + math.atan2(
            math.sin(bearing) * math.sin(r) * math.cos(lat), math.cos(r) - math.sin(lat) * math.sin(y)
        )
        ring.append([math.degrees(x), math.degrees(y)])
    return ring


def chart(title: Spec | None, layers: list[Spec], projection: Spec, **config: Any) -> Spec:
    """A Vega-Lite chart of 1160 x 660 px inside a margin, so that the picture is about 1280 x 800."""
    spec: Spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 1160,
        "height": 660,
        "padding": 40,
        "projection": projection,
        "layer": layers,
        "config": {
            "font": FONT,
            "view": {"stroke": None},
            "legend": {"labelFontSize": 14, "titleFontSize": 14, "titleLimit": 300, "labelLimit": 300},
            **config,
        },
    }
    if title:
        spec["title"] = title
    return spec


def heading(text: str, subtitle: str, colour: str = "#1d2733") -> Spec:
    """Title and second line, at the left."""
    return {
        "text": text,
        "subtitle": subtitle,
        "anchor": "start",
        "fontSize": 28,
        "color": colour,
        "subtitleFontSize": 15,
        "subtitleColor": "#5b6875",
        "subtitlePadding": 6,
        "offset": 14,
    }


def london_without_legend(data: Path) -> Spec:
    """The boroughs in the right classes, with neither title nor legend nor labels."""
    topology = json.loads((data / "london.json").read_text())
    area = {
        "field": "properties.km2",
        "type": "quantitative",
        "scale": {
            "type": "threshold",
            "domain": [20, 40, 60, 100],
            "range": ["#efedf5", "#cbc9e2", "#9e9ac8", "#756bb1", "#54278f"],
        },
        "legend": None,
    }
    boroughs = {
        "data": {"values": topology, "format": {"type": "topojson", "feature": "boroughs"}},
        "mark": {"type": "geoshape", "stroke": "#ffffff", "strokeWidth": 1},
        "encoding": {"color": area},
    }
    return chart(None, [boroughs], {"type": "mercator"}, background="#ffffff")


def earthquakes(data: Path) -> Spec:
    """Earthquakes on a map with the Pacific in the middle; size by magnitude, colour by depth."""
    quakes = json.loads((data / "quakes.json").read_text())
    classes = ["shallow, under 70 km", "intermediate, 70 – 300 km", "deep, 300 km and more"]
    for quake in quakes:
        quake["class"] = classes[(quake["depth"] >= 70) + (quake["depth"] >= 300)]
    world = {
        "values": json.loads((data / "world.json").read_text()),
        "format": {"type": "topojson", "feature": "countries"},
    }
    place = {
        "longitude": {"field": "lon", "type": "quantitative"},
        "latitude": {"field": "lat", "type": "quantitative"},
    }
    points = {
        "data": {"values": quakes},
        "mark": {"type": "circle", "opacity": 0.78, "stroke": "#ffffff", "strokeWidth": 0.8},
        "encoding": {
            **place,
            "size": {
                "field": "mag",
                "type": "quantitative",
                "title": "Magnitude",
                "scale": {"type": "pow", "exponent": 4, "domain": [4.4, 6.4], "range": [30, 620]},
                "legend": {
                    "values": [4.5, 5, 5.5, 6, 6.4],
                    "symbolFillColor": "#8796a5",
                    "symbolStrokeWidth": 0,
                },
            },
            "color": {
                "field": "class",
                "type": "nominal",
                "title": "Depth",
                "scale": {"domain": classes, "range": ["#f2a31b", "#d9542b", "#6d1a5e"]},
                "legend": {"symbolSize": 160, "symbolStrokeWidth": 0},
            },
        },
    }
    named = [
        {"lon": 121.653, "lat": 24.17, "text": "M 6.4 and 6.1  Hualien, Taiwan", "dx": 18},
        {"lon": 70.8155, "lat": 36.52, "text": "M 6.1  Jarm, Afghanistan", "dx": 15},
        {"lon": -177.3954, "lat": -16.645, "text": "M 6.0  off Wallis and Futuna", "dx": 15},
        {"lon": -175.635, "lat": -65.81, "text": "M 6.0  off Scott Island", "dx": 15},
    ]
    labels = {
        "data": {"values": named},
        "mark": {
            "type": "text",
            "align": "left",
            "dx": 16,
            "fontSize": 14,
            "fontWeight": "bold",
            "fill": "#1d2733",
        },
        "encoding": {**place, "text": {"field": "text", "type": "nominal"}},
    }
    halo = {
        **labels,
        "mark": {
            **labels["mark"],
            "stroke": "#ffffff",
            "strokeWidth": 3.5,
            "strokeJoin": "round",
            "strokeOpacity": 0.85,
        },
    }
    layers = [
        {"data": {"sphere": True}, "mark": {"type": "geoshape", "fill": "#e6eff5"}},
        {
            "data": {"graticule": {"step": [30, 30]}},
            "mark": {"type": "geoshape", "stroke": "#cfdde7", "strokeWidth": 0.8, "filled": False},
        },
        {
            "data": world,
            "mark": {"type": "geoshape", "fill": "#c3ccc4", "stroke": "#ffffff", "strokeWidth": 0.5},
        },
        points,
        halo,
        labels,
    ]
    spec = chart(
        heading(
            "Earthquakes around the Pacific, 31 January to 7 February 2018",
            f"{len(quakes)} events of magnitude 4.5 and more. Source: USGS earthquake feed; "
            "land: Natural Earth",
        ),
        layers,
        {"type": "equalEarth", "rotate": [-165, 0, 0]},
        background="#ffffff",
    )
    spec["height"] = 580
    spec["config"]["legend"] |= {
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 5,
        "columnPadding": 24,
    }
    return spec


def airports_of_another_austin(data: Path) -> Spec:
    """The right kind of map around the wrong Austin: the one in Minnesota."""
    austin = (-92.9746, 43.6666)
    states = json.loads((data / "states.json").read_text())
    airports = [
        a
        for a in json.loads((data / "airports.json").read_text())
        if distance_km(a["lon"], a["lat"], austin) < 420
    ]
    kinds = ["inside 150 km", "farther away"]
    for airport in airports:
        airport["kind"] = kinds[distance_km(airport["lon"], airport["lat"], austin) > BUFFER_KM]
    inside = sum(a["kind"] == kinds[0] for a in airports)
    place = {
        "longitude": {"field": "lon", "type": "quantitative"},
        "latitude": {"field": "lat", "type": "quantitative"},
    }
    ring = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [circle(austin, BUFFER_KM)]}}
    names = [
        {"text": "MINNESOTA", "lon": -94.6, "lat": 45.15},
        {"text": "IOWA", "lon": -93.6, "lat": 41.9},
        {"text": "WISCONSIN", "lon": -90.2, "lat": 44.6},
        {"text": "SOUTH DAKOTA", "lon": -97.55, "lat": 44.2},
    ]
    layers = [
        {
            "data": {"values": states, "format": {"type": "topojson", "feature": "states"}},
            "mark": {
                "type": "geoshape",
                "fill": "#f4f1ea",
                "stroke": "#b9b0a0",
                "strokeWidth": 1.2,
                "clip": True,
            },
        },
        {
            "data": {"values": [ring]},
            "mark": {
                "type": "geoshape",
                "fill": "#2f6fb0",
                "fillOpacity": 0.14,
                "stroke": "#2f6fb0",
                "strokeWidth": 2,
            },
        },
        {
            "data": {"values": names},
            "mark": {"type": "text", "fontSize": 15, "fill": "#a2988a", "fontWeight": "bold", "clip": True},
            "encoding": {**place, "text": {"field": "text", "type": "nominal"}},
        },
        {
            "data": {"values": airports},
            "mark": {
                "type": "circle",
                "size": 70,
                "opacity": 1,
                "stroke": "#ffffff",
                "strokeWidth": 0.8,
                "clip": True,
            },
            "encoding": {
                **place,
                "color": {
                    "field": "kind",
                    "type": "nominal",
                    "title": "Airports",
                    "scale": {"domain": kinds, "range": ["#2f6fb0", "#a7a9ac"]},
                    "legend": {
                        "orient": "bottom-left",
                        "fillColor": "#ffffff",
                        "padding": 12,
                        "symbolSize": 120,
                        "offset": 14,
                    },
                },
            },
        },
        {
            "data": {"values": [{"lon": austin[0], "lat": austin[1], "text": "Austin"}]},
            "mark": {
                "type": "point",
                "shape": "diamond",
                "size": 280,
                "filled": True,
                "fill": "#c0392b",
                "stroke": "#ffffff",
                "opacity": 1,
            },
            "encoding": place,
        },
        {
            "data": {"values": [{"lon": austin[0], "lat": austin[1], "text": "Austin"}]},
            "mark": {
                "type": "text",
                "align": "left",
                "dx": 13,
                "dy": 1,
                "fontSize": 17,
                "fontWeight": "bold",
                "fill": "#1d2733",
            },
            "encoding": {**place, "text": {"field": "text", "type": "nominal"}},
        },
    ]
    spec = chart(
        heading(
            "Airports within 150 km of Austin",
            f"{inside} airports inside the buffer. Airports: data.gov; states: US Census Bureau",
        ),
        layers,
        {
            "type": "azimuthalEqualArea",
            "rotate": [-austin[0], -austin[1], 0],
            "scale": 8600,
            "translate": [580, 330],
        },
        background="#ffffff",
    )
    spec["view"] = {"stroke": "#b9b0a0", "fill": "#d6e4ec"}
    return spec


def precipitation(data: Path) -> bytes:
    """Annual precipitation of South America as a grid of one degree, PNG."""
    grid = json.loads((data / "precipitation.json").read_text())
    values = np.array(grid["values"], dtype=float).reshape(grid["height"], grid["width"])
    # Row j and column i stand for longitude i - 180 and latitude 87 - j.
    west, east, south, north = -84, -32, -57, 14
    part = values[87 - north : 87 - south + 1, west + 180 : east + 181]
    steps = [0, 100, 250, 500, 1000, 1500, 2000, 3000, 4000]
    shades = [
        "#f7e9c9",
        "#eedba0",
        "#cfe0a6",
        "#a5d3a0",
        "#6fbfa6",
        "#3f9fb0",
        "#2a77ab",
        "#234f96",
        "#1d2f6f",
    ]
    mpl.rcParams["font.family"] = FONT
    figure = plt.figure(figsize=(12.8, 8), dpi=100, facecolor="white")
    axes = figure.add_axes((0.035, 0.05, 0.56, 0.9))
    image = axes.imshow(
        part,
        extent=(west - 0.5, east + 0.5, south - 0.5, north + 0.5),
        cmap=ListedColormap(shades),
        norm=BoundaryNorm([*steps, 20000], len(shades)),
        interpolation="nearest",
        zorder=1,
    )
    land: list[np.ndarray] = []
    for country in json.loads((data / "countries.json").read_text())["features"]:
        shape = country["geometry"]
        polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
        rings = [np.array(polygon[0]) for polygon in polygons]
        if int(country["id"]) in SOUTH_AMERICA:
            land += rings
        elif int(country["id"]) == FRANCE:  # of which French Guiana is a part
            land += [ring for ring in rings if ring[:, 0].max() < west + 40 and ring[:, 1].max() < north]
    outline = MapPath.make_compound_path(*(MapPath(ring, closed=True) for ring in land))
    image.set_clip_path(PathPatch(outline, transform=axes.transData))
    axes.set_facecolor("#eef3f6")
    axes.add_collection(PolyCollection(land, facecolor="none", edgecolor="#22303c", linewidth=0.9))
    axes.set(xlim=(west, east), ylim=(south, north), aspect="equal")
    axes.set_xticks(range(-80, -30, 10), [f"{-x}° W" for x in range(-80, -30, 10)])
    axes.set_yticks(
        range(-50, 20, 10), [f"{abs(y)}° {'S' if y < 0 else 'N'}" if y else "0°" for y in range(-50, 20, 10)]
    )
    axes.tick_params(colors="#5b6875", labelsize=10, length=3)
    for side in axes.spines.values():
        side.set_edgecolor("#9aa6b2")
    cells = [(float(x), float(y)) for y in range(north, south - 1, -1) for x in range(west, east + 1)]
    on_land = np.any([MapPath(ring).contains_points(cells) for ring in land], axis=0).reshape(part.shape)
    j, i = np.unravel_index(int(np.where(on_land, part, -1).argmax()), part.shape)
    wettest = (west + int(i), north - int(j))
    most = part[j, i]
    axes.plot(
        *wettest, "o", markersize=11, markerfacecolor="none", markeredgecolor="#e2483d", markeredgewidth=2.4
    )
    figure.text(
        0.645,
        0.90,
        "Annual precipitation\nin South America, 2016",
        fontsize=25,
        weight="bold",
        color="#1d2733",
        va="top",
        linespacing=1.15,
    )
    figure.text(
        0.645, 0.775, "Grid of one degree, with country borders", fontsize=13, color="#5b6875", va="top"
    )
    bar_axes = figure.add_axes((0.645, 0.30, 0.026, 0.41))
    bar = figure.colorbar(image, cax=bar_axes, ticks=steps[1:], spacing="uniform")
    bar.ax.set_yticklabels([f"{s:,}" for s in steps[1:]])
    bar.ax.tick_params(labelsize=12, length=0, colors="#1d2733")
    bar.outline.set_visible(False)
    bar.minorticks_off()
    figure.text(0.645, 0.722, "Millimetres in the year", fontsize=12.5, color="#1d2733", weight="bold")
    figure.text(0.648, 0.225, "○", fontsize=17, color="#e2483d", weight="bold", family="DejaVu Sans")
    figure.text(
        0.672,
        0.231,
        f"Wettest cell on land: {most:,.0f} mm\n"
        f"at {abs(wettest[1])}° {'N' if wettest[1] > 0 else 'S'}, {-wettest[0]}° W",
        fontsize=13,
        color="#1d2733",
        va="center",
        linespacing=1.3,
    )
    figure.text(
        0.645,
        0.055,
        "Source: NOAA Climate Forecast System v2;\nborders: Natural Earth 1:110 m. Equirectangular.",
        fontsize=10.5,
        color="#7b8794",
        linespacing=1.4,
    )
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=100)
    plt.close(figure)
    return file.getvalue()


def save_png(data: bytes, path: Path) -> None:
    """At most 256 colours, no metadata: flat maps lose nothing that an eye would see."""
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    picture.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Makes everything in a temporary folder, then puts the submissions in place."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out-dir", type=Path, default=HERE.parent / "examples/gis-bench/runs")
    out = parser.parse_args().out_dir.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary) / "work"
        data = Path(temporary) / "data"
        shutil.copytree(HERE / "make_demo", work)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=work, check=True)
        subprocess.run(["node", "pages.mjs", str(out), str(data)], cwd=work, check=True)
        atlas, meridian = out / "atlas-small-demo", out / "meridian-large-demo"
        save_png(vlc.vegalite_to_png(london_without_legend(data)), meridian / "london-boroughs.png")
        save_png(vlc.vegalite_to_png(earthquakes(data)), meridian / "pacific-earthquakes.png")
        save_png(precipitation(data), atlas / "south-america-rain.png")
        jpeg = vlc.vegalite_to_jpeg(airports_of_another_austin(data), quality=88)
        (atlas / "austin-airports.jpg").write_bytes(jpeg)


if __name__ == "__main__":
    main()
