"""Classes of the user as configs of Hydra: ``encoding=mine:LogDistance encoding.scale=2``."""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from synthlab.runs.conf_files import class_groups, conf_dir, describe_class


class ClassSource(ConfigSource):
    """Has a config for each name ``package.module:Class`` in a group whose members are classes."""

    @staticmethod
    def scheme() -> str:
        """Return the scheme of this source."""
        return "class"

    def load_config(self, config_path: str) -> ConfigResult:
        """Import the class, and return its config. Raises InputError if it cannot be imported."""
        config = OmegaConf.create(describe_class(*config_path.split("/", 1)))
        return ConfigResult(self.provider, f"class://{config_path}", config, {"package": None})

    def is_config(self, config_path: str) -> bool:
        """Return True for the name of a class in a group of classes."""
        return ":" in config_path and config_path.partition("/")[0] in class_groups()

    def is_group(self, config_path: str) -> bool:
        """Return False: the groups are those of conf/."""
        return False

    def available(self) -> bool:
        """Return True."""
        return True

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Return no names, since any class may be named."""
        return []


class ClassSearchPath(SearchPathPlugin):
    """Adds the classes to where Hydra looks for configs, in the lab's own commands alone."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the source of classes behind ``conf/``."""
        if any(str(each.path).removeprefix("file://").startswith(str(conf_dir())) for each in search_path.get_path()):
            search_path.append("synthlab", "class://")
