// Bundles the page into dist/ and writes the hash of its sources beside it.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const files = ["index.html", "package.json", "build.mjs", "tsconfig.json", ...readdirSync("src").map((f) => `src/${f}`)].sort();

// FNV-1a, 64 bits, over names and contents with a zero byte after each; the Rust test computes the same.
let hash = 0xcbf29ce484222325n;
const eat = (bytes) => {
  for (const b of bytes) hash = ((hash ^ BigInt(b)) * 0x100000001b3n) & 0xffffffffffffffffn;
};
for (const file of files) {
  eat(Buffer.from(file));
  eat([0]);
  eat(readFileSync(file));
  eat([0]);
}

mkdirSync("dist", { recursive: true });
await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  outfile: "dist/app.js",
  legalComments: "inline",
  logLevel: "warning",
});
await build({ entryPoints: ["src/app.css"], minify: true, outfile: "dist/app.css", logLevel: "warning" });
copyFileSync("index.html", "dist/index.html");
copyFileSync("node_modules/three/LICENSE", "dist/LICENSE-three.txt");
writeFileSync("dist/SOURCE_HASH", hash.toString(16).padStart(16, "0") + "\n");
