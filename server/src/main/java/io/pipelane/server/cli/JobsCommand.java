package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Lists, submits, shows and cancels a running server's jobs. */
@Command(
    name = "jobs",
    description = "List the jobs of a running server, or submit, show or cancel one.",
    subcommands = {
      JobsCommand.ListJobs.class,
      JobsCommand.Submit.class,
      JobsCommand.Show.class,
      JobsCommand.Cancel.class
    })
final class JobsCommand implements Subcommand {
  private static final int PERCENT = 100;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Override
  public Integer call() {
    return list(spec, address);
  }

  private static int list(CommandSpec spec, ServerAddress address) {
    PrintWriter out = spec.commandLine().getOut();
    try (ServerClient client = address.connect()) {
      print(client.get("v2", "jobs"), out);
    }
    out.flush();
    return 0;
  }

  private static void print(JsonNode answer, PrintWriter out) {
    LeftAlignedTable table =
        new LeftAlignedTable(
            "ID", "STATE", "MODEL", "CLASS", "GROUP", "ROWS", "FAILED", "PROGRESS", "OUTPUT");
    for (JsonNode job : answer.path("jobs")) {
      table.add(
          job.path("id").asText(),
          job.path("state").asText(),
          job.path("model").asText() + "/" + job.path("version").asText(),
          job.path("class").asText(),
          job.path("group").asText(),
          job.path("items_done").asText(),
          job.path("items_failed").asText(),
          String.format(Locale.ROOT, "%.0f %%", job.path("progress").asDouble() * PERCENT),
          job.path("output_file").asText());
    }
    if (answer.path("jobs").isEmpty()) {
      out.println("The server has no jobs.");
      return;
    }
    table.print(out);
    for (JsonNode group : answer.path("groups")) {
      out.println(
          "Group %s: %s of %s jobs have ended%s"
              .formatted(
                  group.path("group").asText(),
                  group.path("ended"),
                  group.path("jobs"),
                  group.path("done").asBoolean() ? ", all done" : ""));
    }
  }

  private static int tell(CommandSpec spec, JsonNode job) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(job.toPrettyString());
    out.flush();
    return 0;
  }

  /** {@code pipelane jobs list}: the same as without a subcommand. */
  @Command(name = "list", description = "List the jobs.")
  static final class ListJobs implements Subcommand {
    @Spec private CommandSpec spec = CommandSpec.create();
    @ParentCommand private JobsCommand jobs = new JobsCommand();

    @Override
    public Integer call() {
      return list(spec, jobs.address);
    }
  }

  /** {@code pipelane jobs submit}: submits a job. */
  @Command(
      name = "submit",
      description =
          "Have a model answer every line of a file. Files are named as they lie in the server's"
              + " jobs.folder.")
  static final class Submit implements Subcommand {
    @Spec private CommandSpec spec = CommandSpec.create();
    @ParentCommand private JobsCommand jobs = new JobsCommand();

    @Parameters(paramLabel = "MODEL", description = "The model's name.")
    private String model = "";

    @Option(names = "--version", paramLabel = "VERSION", description = "The model's version.")
    private @Nullable String version;

    @Option(
        names = "--input",
        required = true,
        paramLabel = "FILE",
        description = "Inference requests, a line of JSON each.")
    private String input = "";

    @Option(
        names = "--output",
        required = true,
        paramLabel = "FILE",
        description = "Where the answers go, a line each in the same order; must not exist.")
    private String output = "";

    @Option(
        names = "--class",
        paramLabel = "CLASS",
        description = "online or offline (default: ${DEFAULT-VALUE}).",
        defaultValue = "offline")
    private String priority = "offline";

    @Option(names = "--group", paramLabel = "NAME", description = "What it belongs to.")
    private @Nullable String group;

    @Option(names = "--size-hint", paramLabel = "N", description = "How many items there are.")
    private @Nullable Long sizeHint;

    @Option(
        names = "--repeat",
        paramLabel = "N",
        description = "How often the items are gone through; 1 unless said.")
    private @Nullable Long repeat;

    @Override
    public Integer call() {
      ObjectNode request = ServerClient.JSON.createObjectNode();
      request.put("model", model).put("input_file", input).put("output_file", output);
      request.put("class", priority);
      putIfGiven(request, "version", version);
      putIfGiven(request, "group", group);
      if (sizeHint != null) {
        request.put("size_hint", sizeHint);
      }
      if (repeat != null) {
        request.put("repeat", repeat);
      }
      try (ServerClient client = jobs.address.connect()) {
        return tell(spec, client.post(request, "v2", "jobs"));
      }
    }

    private static void putIfGiven(ObjectNode request, String member, @Nullable String value) {
      if (value != null) {
        request.put(member, value);
      }
    }
  }

  /** {@code pipelane jobs show}: shows a job. */
  @Command(name = "show", description = "Show a job.")
  static final class Show implements Subcommand {
    @Spec private CommandSpec spec = CommandSpec.create();
    @ParentCommand private JobsCommand jobs = new JobsCommand();

    @Parameters(paramLabel = "ID", description = "The job.")
    private String id = "";

    @Override
    public Integer call() {
      try (ServerClient client = jobs.address.connect()) {
        return tell(spec, client.get("v2", "jobs", id));
      }
    }
  }

  /** {@code pipelane jobs cancel}: cancels a job. */
  @Command(
      name = "cancel",
      description = "Cancel a job, or forget one that has ended; its output stays.")
  static final class Cancel implements Subcommand {
    @Spec private CommandSpec spec = CommandSpec.create();
    @ParentCommand private JobsCommand jobs = new JobsCommand();

    @Parameters(paramLabel = "ID", description = "The job.")
    private String id = "";

    @Override
    public Integer call() {
      try (ServerClient client = jobs.address.connect()) {
        return tell(spec, client.delete("v2", "jobs", id));
      }
    }
  }
}
