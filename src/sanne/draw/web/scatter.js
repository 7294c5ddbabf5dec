// Draws the points with WebGL: one call, whatever their number.

import { COLOURS, paletteNumbers } from "./palette.js";

const VERTEX = `#version 300 es
in vec2 before;
in vec2 point;
in uint slot;
in uint flag;
uniform vec2 centre;
uniform vec2 zoom;
uniform float moved;
uniform float size;
uniform vec3 palette[${COLOURS + 1}];
out vec4 colour;
out float diameter;
void main() {
  vec2 place = (mix(before, point, moved) - centre) * zoom;
  gl_Position = flag == 2u ? vec4(2.0, 2.0, 0.0, 1.0) : vec4(place, 0.0, 1.0);
  diameter = flag == 3u ? size * 1.3 : size;
  gl_PointSize = diameter + 1.0;
  colour = vec4(palette[slot], flag == 1u ? 0.13 : flag == 3u ? 1.0 : 0.82);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour;
in float diameter;
out vec4 painted;
void main() {
  float away = length(gl_PointCoord - 0.5) * (diameter + 1.0);
  float cover = clamp(diameter * 0.5 + 0.5 - away, 0.0, 1.0) * colour.a;
  painted = vec4(colour.rgb * cover, cover);
}`;

export class Scatter {
  // Throws if the browser has no WebGL 2.
  constructor(canvas) {
    const options = { alpha: true, antialias: false, premultipliedAlpha: true, powerPreference: "low-power" };
    const gl = canvas.getContext("webgl2", options);
    if (!gl) throw new Error("no WebGL 2");
    this.canvas = canvas;
    this.gl = gl;
    this.count = 0;
    this._prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this._prepare();
      if (this._nodes) this.setNodes(this._nodes);
      this.onRestored?.();
    });
  }

  _prepare() {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "no shader");
    gl.useProgram(program);
    this.places = Object.fromEntries(["centre", "zoom", "moved", "size", "palette"].map((name) =>
      [name, gl.getUniformLocation(program, name)]));
    this.buffers = {};
    for (const [name, width, kind] of [["before", 2, gl.FLOAT], ["point", 2, gl.FLOAT], ["slot", 1, 0], ["flag", 1, 0]]) {
      const at = gl.getAttribLocation(program, name);
      this.buffers[name] = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.enableVertexAttribArray(at);
      if (kind) gl.vertexAttribPointer(at, width, kind, false, 0, 0);
      else gl.vertexAttribIPointer(at, width, gl.UNSIGNED_BYTE, 0, 0);
    }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.clearColor(0, 0, 0, 0);
    this.setPalette();
  }

  setPalette() {
    this.gl.uniform3fv(this.places.palette, paletteNumbers());
  }

  setNodes(nodes) {
    this._nodes = nodes;
    this.count = nodes.count;
    this._fill("before", nodes.before);
    this._fill("point", nodes.points);
    this._fill("slot", nodes.slots());
    this.setFlags(nodes);
  }

  setFlags(nodes) {
    this._fill("flag", nodes.flags);
  }

  _fill(name, array) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, array, this.gl.DYNAMIC_DRAW);
  }

  // `share` below 1 draws only a part of the points, which is a random sample, since they are in random order.
  draw(view, { moved = 1, share = 1, size }) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.count) return;
    gl.uniform2f(this.places.centre, view.x, view.y);
    gl.uniform2f(this.places.zoom, (2 * view.scale) / view.width, (2 * view.scale) / view.height);
    gl.uniform1f(this.places.moved, moved);
    gl.uniform1f(this.places.size, size * view.ratio);
    gl.drawArrays(gl.POINTS, 0, Math.ceil(this.count * share));
  }
}
