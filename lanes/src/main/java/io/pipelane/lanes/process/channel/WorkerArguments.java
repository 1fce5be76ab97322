package io.pipelane.lanes.process.channel;

import io.pipelane.lanes.cpu.CpuExport;
import java.nio.file.Path;
import java.util.List;

/**
 * What a worker process is started with.
 *
 * @param area the descriptor of its area in the server
 * @param lanes channels to run in: the first ones
 * @param controls channels to build and close sessions through, behind them
 * @param threadsPerRun threads of one run, its lane's own included
 */
public record WorkerArguments(
    CpuExport export, int area, int lanes, int controls, int threadsPerRun, Path library) {

  public int channels() {
    return lanes + controls;
  }

  public List<String> toList() {
    return List.of(
        Long.toString(export.process()),
        Integer.toString(export.pages()),
        Long.toString(export.pageBytes()),
        Integer.toString(export.slotTable()),
        Long.toString(export.slotTableBytes()),
        Integer.toString(area),
        Integer.toString(lanes),
        Integer.toString(controls),
        Integer.toString(threadsPerRun),
        library.toAbsolutePath().toString());
  }

  public static WorkerArguments of(String... arguments) {
    CpuExport export =
        new CpuExport(
            Long.parseLong(arguments[0]),
            Integer.parseInt(arguments[1]),
            Long.parseLong(arguments[2]),
            Integer.parseInt(arguments[3]),
            Long.parseLong(arguments[4]));
    return new WorkerArguments(
        export,
        Integer.parseInt(arguments[5]),
        Integer.parseInt(arguments[6]),
        Integer.parseInt(arguments[7]),
        Integer.parseInt(arguments[8]),
        Path.of(arguments[9]));
  }
}
