// The panels: with Grafana's components where it has them outside of its program, drawn here where it has not.
import { formattedValueToString, getFieldDisplayValues, getValueFormat, VizOrientation } from '@grafana/data';
import { BarGauge, BigValue, TimeSeries } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import { useEffect, useRef } from 'react';
import { put, seconds, task } from './data.js';

function Drawing({ width, height, draw }) {
  const canvas = useRef(null);
  useEffect(() => {
    const pen = canvas.current.getContext('2d');
    pen.font = '11px Inter, sans-serif';
    pen.textBaseline = 'middle';
    pen.clearRect(0, 0, width, height);
    draw(pen);
  });
  return <canvas ref={canvas} width={width} height={height} />;
}

// across gives the place of an instant between two edges, and draws the axis below.
function across(pen, theme, left, width, height) {
  const x = (at) => left + ((at - task.start) / seconds) * (width - left - 8);
  pen.fillStyle = theme.colors.text.secondary;
  pen.textAlign = 'center';
  const marks = Math.max(2, Math.floor((width - left) / 90));
  for (let i = 0; i < marks; i++) {
    const at = task.start + (seconds * (i + 0.5)) / marks;
    pen.fillText(new Date(at * 1000).toISOString().slice(11, seconds > 3600 ? 16 : 19), x(at), height - 8);
  }
  return x;
}

// cells are the counts of a heatmap: native buckets as they are, classic ones as differences of neighbours.
function cells(frames) {
  const native = frames.flatMap((frame) => frame.histograms.flatMap(([at, h]) => (h.buckets ?? []).map(([, from, to, n]) => ({ at, from: Number(from), to: Number(to), n: Number(n) }))));
  if (native.length > 0) return native;
  const edges = frames.map((frame) => ({ field: frame.fields[1], times: frame.fields[0].values, le: Number(frame.fields[1].labels.le.replace('+Inf', 'Infinity')) })).sort((a, b) => a.le - b.le);
  return edges.flatMap(({ field, times, le }, i) => times.map((ms, at) => ({
    at: ms / 1000, from: edges[i - 1]?.le ?? 0, to: le, n: (field.values[at] ?? 0) - (edges[i - 1]?.field.values[at] ?? 0),
  })));
}

export function Heatmap({ panel, data, theme, width, height }) {
  const shown = cells(data.frames).filter((cell) => cell.n > 1e-9 && cell.to > 0);
  const unit = getValueFormat(panel.options.yAxis.unit);
  return <Drawing width={width} height={height} draw={(pen) => {
    const left = 64, bottom = height - 20;
    const low = Math.min(...shown.map((cell) => Math.max(cell.from, cell.to / 3))), high = Math.max(...shown.map((cell) => (cell.to === Infinity ? cell.from * 1.5 : cell.to)));
    const y = (value) => bottom * (1 - Math.log(Math.min(Math.max(value, low), high) / low) / Math.log(high / low || 2));
    const times = [...new Set(shown.map((cell) => cell.at))].sort((a, b) => a - b);
    const step = Math.min(...times.slice(1).map((at, i) => at - times[i]), seconds / 4);
    const x = across(pen, theme, left, width, height);
    const most = Math.max(...shown.map((cell) => cell.n));
    for (const cell of shown) {
      const share = Math.sqrt(cell.n / most);
      pen.fillStyle = `hsl(${42 - 28 * share} 92% ${theme.isDark ? 14 + 48 * share : 92 - 48 * share}%)`;
      const right = x(cell.at), begin = Math.max(left, x(cell.at - step));
      pen.fillRect(begin, y(cell.to), Math.max(1, right - begin - 1), Math.max(1, y(cell.from) - y(cell.to) - 1));
    }
    pen.fillStyle = theme.colors.text.secondary;
    pen.textAlign = 'right';
    for (let i = 0; i <= 5; i++) {
      const value = low * (high / low) ** (i / 5);
      pen.fillText(formattedValueToString(unit(value)), left - 6, Math.min(Math.max(y(value), 7), bottom - 4));
    }
  }} />;
}

export function StateTimeline({ data, theme, width, height }) {
  return <Drawing width={width} height={height} draw={(pen) => {
    const names = data.frames.map((frame) => frame.fields[1].config.displayNameFromDS);
    const left = Math.min(width / 3, Math.max(...names.map((name) => pen.measureText(name).width)) + 14);
    const tall = (height - 20) / data.frames.length;
    const x = across(pen, theme, left, width, height);
    data.frames.forEach((frame, row) => {
      const [time, field] = frame.fields;
      pen.fillStyle = theme.colors.text.primary;
      pen.textAlign = 'right';
      pen.fillText(names[row], left - 8, (row + 0.5) * tall);
      for (let i = 0; i < time.values.length;) {
        let next = i + 1;
        while (next < time.values.length && field.values[next] === field.values[i]) next++;
        if (field.values[i] !== null) {
          const word = field.display(field.values[i]);
          const from = x(time.values[i] / 1000), to = x((time.values[next] ?? task.end * 1000) / 1000);
          pen.globalAlpha = 0.75;
          pen.fillStyle = word.color;
          pen.fillRect(from, row * tall + tall * 0.1, to - from, tall * 0.8);
          pen.globalAlpha = 1;
          pen.fillStyle = theme.colors.getContrastText(word.color);
          pen.textAlign = 'left';
          if (pen.measureText(word.text).width + 10 < to - from) pen.fillText(word.text, from + 5, (row + 0.5) * tall);
        }
        i = next;
      }
    });
  }} />;
}

// values are those that are shown as numbers or bars.
function values(panel, data, theme, sparkline) {
  return getFieldDisplayValues({
    fieldConfig: data.fieldConfig, reduceOptions: panel.options.reduceOptions, replaceVariables: put, theme, data: data.frames, sparkline, timeZone: 'utc',
  });
}

export function Stat({ panel, data, theme, width, height }) {
  const shown = values(panel, data, theme, panel.options.graphMode !== 'none');
  const beside = width > height;
  const w = beside ? width / shown.length : width, h = beside ? height : height / shown.length;
  return <div style={{ display: 'flex', flexDirection: beside ? 'row' : 'column' }}>
    {shown.map((value, i) => <BigValue key={i} theme={theme} width={w} height={h} value={value.display} sparkline={value.sparkline} count={shown.length}
      colorMode={panel.options.colorMode} graphMode={panel.options.graphMode} justifyMode={panel.options.justifyMode} textMode={panel.options.textMode} />)}
  </div>;
}

export function Bars({ panel, data, theme, width, height }) {
  const shown = values(panel, data, theme, false);
  const h = Math.max(panel.options.minVizHeight, Math.min(panel.options.maxVizHeight, height / shown.length - 4));
  return <div style={{ height, overflow: 'hidden' }}>
    {shown.map((value, i) => <div key={i} style={{ marginBottom: 4 }}><BarGauge theme={theme} width={width} height={h} value={value.display} field={value.field}
      display={value.view?.getFieldDisplayProcessor(value.colIndex)} orientation={VizOrientation.Horizontal} displayMode={panel.options.displayMode}
      showUnfilled={panel.options.showUnfilled} namePlacement={panel.options.namePlacement} text={panel.options.text} alignmentFactors={widest(shown)} /></div>)}
  </div>;
}

// widest are the longest texts, so that all bars begin at the same place.
function widest(shown) {
  const longest = (of) => shown.map((value) => of(value.display) ?? '').reduce((a, b) => (b.length > a.length ? b : a), '');
  return { title: longest((display) => display.title), text: longest((display) => display.text), suffix: longest((display) => display.suffix) };
}

export function Course({ panel, data, timeRange, width, height }) {
  return <TimeSeries frames={data.frames} structureRev={1} timeRange={timeRange} timeZone="utc" width={width} height={height}
    legend={panel.options.legend} options={panel.options} />;
}

export function Table({ panel, data, timeRange, width, height }) {
  return <TableNG data={data.frames[0]} width={width} height={height} structureRev={1} timeRange={timeRange} initialSortBy={panel.options.sortBy} getActions={() => []} />;
}
