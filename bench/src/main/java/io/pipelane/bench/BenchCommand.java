package io.pipelane.bench;

import io.pipelane.bench.cluster.ClusterCommand;
import io.pipelane.bench.cluster.DayCommand;
import io.pipelane.bench.cycles.CyclesCommand;
import io.pipelane.bench.density.DensityCommand;
import io.pipelane.bench.ensemble.EnsembleCommand;
import io.pipelane.bench.fairness.FairnessCommand;
import io.pipelane.bench.faults.FaultsCommand;
import io.pipelane.bench.forms.FormsCommand;
import io.pipelane.bench.frontend.FrontEndCommand;
import io.pipelane.bench.generator.GeneratorCommand;
import io.pipelane.bench.grouping.GroupingCommand;
import io.pipelane.bench.groups.GroupsCommand;
import io.pipelane.bench.http.HttpCommand;
import io.pipelane.bench.levers.LeversCommand;
import io.pipelane.bench.links.LinksCommand;
import io.pipelane.bench.loads.LoadsCommand;
import io.pipelane.bench.memory.MemoryCommand;
import io.pipelane.bench.multigpu.MultiGpuCommand;
import io.pipelane.bench.noop.NoopCommand;
import io.pipelane.bench.overhead.OverheadCommand;
import io.pipelane.bench.packing.PackingCommand;
import io.pipelane.bench.plot.PlotCommand;
import io.pipelane.bench.policies.PoliciesCommand;
import io.pipelane.bench.preempt.PreemptCommand;
import io.pipelane.bench.residency.ResidencyCommand;
import io.pipelane.bench.sharing.SharingCommand;
import io.pipelane.bench.slo.SloCommand;
import io.pipelane.bench.stall.StallCommand;
import io.pipelane.bench.switching.SwitchCommand;
import io.pipelane.bench.tiers.TiersCommand;
import io.pipelane.bench.trace.TraceCommand;
import io.pipelane.bench.workers.WorkersCommand;
import io.pipelane.loadgen.Subcommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code loadgen bench}: the benchmark programs. */
@Command(
    name = "bench",
    description = "Measures Pipelane beside what it is compared with, in one run, interleaved.",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "PROGRAM",
    subcommands = {
      ClusterCommand.class,
      CyclesCommand.class,
      DayCommand.class,
      DensityCommand.class,
      EnsembleCommand.class,
      FairnessCommand.class,
      FaultsCommand.class,
      FormsCommand.class,
      FrontEndCommand.class,
      GeneratorCommand.class,
      GroupingCommand.class,
      GroupsCommand.class,
      HttpCommand.class,
      LeversCommand.class,
      LinksCommand.class,
      LoadsCommand.class,
      MemoryCommand.class,
      MultiGpuCommand.class,
      NoopCommand.class,
      OverheadCommand.class,
      PackingCommand.class,
      PlotCommand.class,
      PoliciesCommand.class,
      PreemptCommand.class,
      ResidencyCommand.class,
      SharingCommand.class,
      SloCommand.class,
      StallCommand.class,
      SwitchCommand.class,
      TiersCommand.class,
      TraceCommand.class,
      WorkersCommand.class
    })
public final class BenchCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    throw new ParameterException(
        spec.commandLine(),
        "say which: " + String.join(", ", spec.commandLine().getSubcommands().keySet()));
  }
}
