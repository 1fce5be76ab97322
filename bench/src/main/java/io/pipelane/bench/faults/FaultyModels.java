package io.pipelane.bench.faults;

import io.pipelane.bench.faults.Clients.Asked;
import io.pipelane.bench.model.ChainModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The models that are asked while workers have their faults: three, of which one keeps state. */
final class FaultyModels {
  static final List<Asked> ONLINE =
      List.of(new Asked("chain0", 1), new Asked("chain1", 1), new Asked("sums", 8));
  static final List<Asked> OFFLINE = List.of(new Asked("offline", 1));

  private FaultyModels() {}

  /**
   * Writes them into a repository.
   *
   * @param withOffline the offline one, too
   * @param ownTenants whether each belongs to a tenant of its own
   */
  static void write(Path repository, boolean withOffline, boolean ownTenants) throws IOException {
    ChainModel.write(repository, "chain0", 0);
    ChainModel.write(repository, "chain1", 1);
    ChainModel.writeWithState(repository, "sums", 2);
    options(repository, "chain0", ownTenants, "");
    options(repository, "chain1", ownTenants, "");
    options(repository, "sums", ownTenants, ChainModel.STATE);
    if (withOffline) {
      ChainModel.write(repository, "offline", ONLINE.size());
      options(repository, "offline", ownTenants, "priority: offline\n");
    }
  }

  private static void options(Path repository, String model, boolean ownTenant, String others)
      throws IOException {
    String tenant = ownTenant ? "tenant: of-" + model + "\n" : "";
    Files.writeString(repository.resolve(model).resolve("pipelane.yaml"), tenant + others);
  }
}
