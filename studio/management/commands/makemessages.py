"""`makemessages`, which also finds the sentences that the command line shares (`limits.wording`)."""

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    """Collect every text of Studio that can be read in another language."""

    xgettext_options = [*makemessages.Command.xgettext_options, "--keyword=said:1", "--keyword=said_of:1,2"]
