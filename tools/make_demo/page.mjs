// Builds one self-contained HTML page: a template, its style, and its script with every library inlined.

import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

/**
 * @param {string} entry    script to bundle, `src/<name>.js`
 * @param {object} data     what the script imports as `virtual:data`
 * @param {string} template HTML with `{{script}}` where the script goes
 * @param {string} out      file to write
 */
export async function writePage(entry, data, template, out) {
  const inlined = {
    name: "data",
    setup(build) {
      build.onResolve({ filter: /^virtual:data$/ }, (args) => ({ path: args.path, namespace: "data" }));
      build.onLoad({ filter: /.*/, namespace: "data" }, () => ({ contents: JSON.stringify(data), loader: "json" }));
    },
  };
  const bundle = await build({
    entryPoints: [entry], bundle: true, minify: true, write: false, format: "iife", charset: "utf8",
    target: "es2020", legalComments: "none", plugins: [inlined],
  });
  const script = bundle.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
  writeFileSync(out, readFileSync(template, "utf8").replace("{{script}}", () => script));
}
