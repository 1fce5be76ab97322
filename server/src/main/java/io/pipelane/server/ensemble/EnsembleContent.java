package io.pipelane.server.ensemble;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Sha256;
import io.pipelane.modelstore.repository.Ensemble.Step;
import io.pipelane.server.ensemble.EnsemblePlan.Member;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;

/**
 * What tells an ensemble's content from another's, on any host: a hash of its steps, and of what
 * their models' contents are. Safe for any thread.
 */
final class EnsembleContent {
  /* It is wanted with each request, and changes with the models alone: so the latest is kept. */
  private final List<String> outputs;
  private volatile Known latest = new Known(List.of(), "");

  private record Model(ModelVersion version, String content) {
    Model(Member member) {
      this(member.model().version(), member.model().content());
    }
  }

  /** Of which models a hash is. */
  private record Known(List<Model> models, String hash) {}

  /**
   * Of an ensemble that names some outputs.
   *
   * @param outputs empty where it names none
   */
  EnsembleContent(List<String> outputs) {
    this.outputs = List.copyOf(outputs);
  }

  /**
   * The hash; empty where nobody has said what the content of one of its models is.
   *
   * @param members with the steps that are the ensemble's for good, and the models that take them
   */
  String of(List<Member> members) {
    List<Model> models = members.stream().map(Model::new).toList();
    Known known = latest;
    if (!known.models.equals(models)) {
      known = new Known(models, hash(members));
      latest = known;
    }
    return known.hash;
  }

  private String hash(List<Member> members) {
    StringBuilder text = new StringBuilder();
    for (Member member : members) {
      Model model = new Model(member);
      if (model.content.isEmpty()) {
        return "";
      }
      Step step = member.step();
      text.append(model.version).append(' ').append(model.content);
      text.append(new TreeMap<>(step.inputs())).append(new TreeMap<>(step.outputs()));
    }
    return HexFormat.of().formatHex(Sha256.of(text.append(outputs).toString()));
  }
}
